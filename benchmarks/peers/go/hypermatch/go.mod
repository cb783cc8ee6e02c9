module sapwood/benchmarks/peers/hypermatch

go 1.21.0

require (
	github.com/SchwarzIT/hypermatch v1.0.2
	sapwood/benchmarks/peers/measure v0.0.0
)

replace sapwood/benchmarks/peers/measure => ../measure
