module sapwood/benchmarks/peers/measure

go 1.21.0
