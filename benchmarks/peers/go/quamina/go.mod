module sapwood/benchmarks/peers/quamina

go 1.22.0

require (
	quamina.net/go/quamina/v2 v2.0.2
	sapwood/benchmarks/peers/measure v0.0.0
)

replace sapwood/benchmarks/peers/measure => ../measure
