"""`sapwood bench broker`: brokers under load, Sapwood's and its peers', each delivery judged.

===============  ===================================================================================
`load`           subscriptions, publications, and the due deliveries by brute force
`systems`        the measured systems: Sapwood, and the peers that are installed
`workers`        the processes that publish and receive, and the orders to them
`publishing`,    these processes for Sapwood, on plain sockets; those of peers are in
`receiving`,     `benchmarks/peers/brokers`
`pinging`
`judge`          whether exactly what must be delivered was
`cells`          one system, one load: all phases of a measurement
`plan`           which cells are measured
`tables`         the cells as tables, of a terminal or in Markdown
===============  ===================================================================================
"""
