"""The catalogue of experiments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from sapwood.catalogue import Catalogue
from sapwood_lab.experiments.design import Design


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment by name: what of which work it makes again; `load` imports what it needs."""

    name: str
    source: str
    summary: str
    load: Callable[[], Design]


def _design(module: str) -> Callable[[], Design]:
    """A function that imports the `DESIGN` of a module, no earlier than it is called."""

    def load() -> Design:
        design: Design = import_module(module).DESIGN
        return design

    return load


EXPERIMENTS: Final = Catalogue(
    "experiment",
    Experiment,
    (
        Experiment(
            "xroute-tables",
            "XNet, table 6.5, figures 6.9 and 6.16",
            "routing tables and registrations, with and without aggregation",
            _design("sapwood_lab.experiments.xroute"),
        ),
        Experiment(
            "xroute-delays",
            "XNet, figures 6.10 and 6.11",
            "throughput, and delays to consumer nodes, with and without aggregation",
            _design("sapwood_lab.experiments.xroute_delays"),
        ),
        Experiment(
            "xroute-registrations",
            "XNet, figure 6.17",
            "how the delays of registrations are distributed",
            _design("sapwood_lab.experiments.xroute_registrations"),
        ),
        Experiment(
            "xroute-types",
            "XNet, section 4.2.6",
            "one routing table for documents of all DTDs, or one for each",
            _design("sapwood_lab.experiments.xroute_types"),
        ),
        Experiment(
            "xsearch",
            "XNet, tables 6.7 and 6.8, figures 6.12 to 6.15",
            "containment search by the size of the set and the shares of // and *",
            _design("sapwood_lab.experiments.xsearch"),
        ),
        Experiment(
            "lookup-reuse",
            "Shen, table 3.1 and figures 3.1 to 3.5",
            "processor time of publications with and without lookup reuse, by density",
            _design("sapwood_lab.experiments.lookup_reuse"),
        ),
        Experiment(
            "approximate-covering",
            "Shen, section 4.7 (analyzed there)",
            "what travels needlessly where covers are searched with some epsilon",
            _design("sapwood_lab.experiments.approximate_covering"),
        ),
        Experiment(
            "curve-runs",
            "Shen, figures 4.6 and 4.7",
            "cubes and runs of squares on the Z curve and Hilbert's curve",
            _design("sapwood_lab.experiments.curve_runs"),
        ),
        Experiment(
            "sketch-errors",
            "Shen, figure 5.1 and the sizes of section 5.5",
            "how often two different tables have equal sketches: Theorem 6, exactly, counted",
            _design("sapwood_lab.experiments.sketch_errors"),
        ),
        Experiment(
            "link-outages",
            "Shen, figures 5.2 and 5.3",
            "what a link costs that is down for a while, by the timer of its ends",
            _design("sapwood_lab.experiments.link_outages"),
        ),
        Experiment(
            "routing-trees",
            "XSiena, figures 9.1 to 9.4",
            "how large routing trees become, and the forwarding trees of events in them",
            _design("sapwood_lab.experiments.routing_trees"),
        ),
        Experiment(
            "prefix-updates",
            "XSiena, figures 9.5 to 9.7",
            "what comes for nothing while a tree optimizer follows the filters, and how often it "
            "speaks",
            _design("sapwood_lab.experiments.prefix_updates"),
        ),
        Experiment(
            "query-log",
            "XSiena, figures 9.8 to 9.13",
            "queries to a search engine as filters: routing and forwarding trees beside the poset",
            _design("sapwood_lab.experiments.query_log"),
        ),
        Experiment(
            "bloom-structures",
            "XSiena, figures 9.14, 9.15 and 9.17 to 9.19",
            "inserting and matching in posets and in structures of bits, by filters and by bits",
            _design("sapwood_lab.experiments.bloom_structures"),
        ),
        Experiment(
            "bloom-false-positives",
            "XSiena, figures 5.3 and 9.16",
            "what Bloom forwarding sends for nothing, counted and by the exact formula",
            _design("sapwood_lab.experiments.bloom_false_positives"),
        ),
        Experiment(
            "skiptree-fingers",
            "XSiena, figure 5.8",
            "the skiptree of table 5.1, and what a search in it looks at",
            _design("sapwood_lab.experiments.skiptree_fingers"),
        ),
        Experiment(
            "bit-unions",
            "XSiena, figure 5.7",
            "joining two Bloom filters word by word and by vectors, by their size",
            _design("sapwood_lab.experiments.bit_unions"),
        ),
        Experiment(
            "bloom-brokers",
            "XSiena, figures 9.20 to 9.23",
            "latency and throughput of Bloom forwarding over TCP, and deliveries by direct calls",
            _design("sapwood_lab.experiments.bloom_brokers"),
        ),
        Experiment(
            "lease-times",
            "XSiena, figures 9.34, 9.36, 9.38 and 9.39",
            "how leases are extended and used along a way, and how often entries are absent",
            _design("sapwood_lab.experiments.lease_times"),
        ),
        Experiment(
            "lease-uncertainty",
            "XSiena, figures 9.35 and 9.37",
            "what leases are extended by where delays are uncertain, by bounds and by the truth",
            _design("sapwood_lab.experiments.lease_uncertainty"),
        ),
        Experiment(
            "processing-bounds",
            "XSiena, figure 9.28",
            "bounds of what a router takes for a publication beside those of its way",
            _design("sapwood_lab.experiments.processing_bounds"),
        ),
        Experiment(
            "delay-bounds",
            "XSiena, figures 9.26, 9.27 and 9.29 to 9.32",
            "upper bounds of delays against the truth, with and without their improvements",
            _design("sapwood_lab.experiments.delay_bounds"),
        ),
        Experiment(
            "clock-rates",
            "XSiena, figures 3.1 to 3.3, 9.24 and 9.25",
            "processing times, round trips and the rates of clocks",
            _design("sapwood_lab.experiments.clock_rates"),
        ),
        Experiment(
            "planetlab",
            "XNet, tables 6.9 and 6.11, figures 6.19, 6.20 and 6.22",
            "delays, failover and recovery on an overlay whose links have PlanetLab's delays",
            _design("sapwood_lab.experiments.planetlab"),
        ),
        Experiment(
            "strategies",
            "XPE dissemination, tables 1.2 and 1.3",
            "messages and delays of six strategies on trees of 7 and 127 routers",
            _design("sapwood_lab.experiments.six_strategies"),
        ),
        Experiment(
            "xpe-tables",
            "XPE dissemination, figures 1.16, 1.17 and 1.19, table 1.1",
            "routing tables by covering and merging, their cost and their false positives",
            _design("sapwood_lab.experiments.xpe_tables"),
        ),
        Experiment(
            "xpe-processing",
            "XPE dissemination, figure 1.18",
            "processing of an XPE with and without covering, beside many advertisements",
            _design("sapwood_lab.experiments.xpe_processing"),
        ),
        Experiment(
            "xpe-delays",
            "XPE dissemination, figures 1.20 and 1.21",
            "notification delays by hops and documents' sizes, with and without covering",
            _design("sapwood_lab.experiments.xpe_delays"),
        ),
        Experiment(
            "reporting-modes",
            "Shen, figure 4.3",
            "time, searches and degrees by how many covers of a subscription are remembered",
            _design("sapwood_lab.experiments.reporting_modes"),
        ),
        Experiment(
            "xpe-covering",
            "XPE dissemination, figures 1.5, 1.6 and 1.12 to 1.14",
            "what the work's covering procedures and searches decide, and how fast",
            _design("sapwood_lab.experiments.xpe_covering"),
        ),
        Experiment(
            "xpe-tree",
            "XPE dissemination, figure 1.11 and section 1.5.1",
            "what insertion into the subscription tree compares, and what a publication asks there",
            _design("sapwood_lab.experiments.xpe_tree"),
        ),
        Experiment(
            "covering-time",
            "Shen, figures 4.4 and 4.5",
            "time of covering detection while subscriptions come and go",
            _design("sapwood_lab.experiments.covering_time"),
        ),
        Experiment(
            "semantic-tree",
            "XNet, figures 9.1 to 9.4, tables 9.1 and 9.2",
            "false positives and degrees in the containment hierarchy, by joins and peers",
            _design("sapwood_lab.experiments.semantic_tree"),
        ),
        Experiment(
            "semantic-costs",
            "XNet, figures 9.5 and 9.6",
            "how many peers of the containment hierarchy a join and a full leave ask",
            _design("sapwood_lab.experiments.semantic_costs"),
        ),
        Experiment(
            "semantic-leaves",
            "XNet, figure 9.7, sections 7.3.4 and 7.3.5",
            "the containment hierarchy after leaves and crashes, and clusters below hot peers",
            _design("sapwood_lab.experiments.semantic_leaves"),
        ),
        Experiment(
            "semantic-graph",
            "XNet, figures 9.8 to 9.12, tables 9.3 and 9.4",
            "false positives, false negatives and degrees in the similarity graph",
            _design("sapwood_lab.experiments.semantic_graph"),
        ),
        Experiment(
            "semantic-repairs",
            "XNet, sections 7.4.3 and 7.4.4",
            "the similarity graph after leaves and crashes, indulgence, and what a JOIN costs",
            _design("sapwood_lab.experiments.semantic_repairs"),
        ),
        Experiment(
            "irbr-messages",
            "IRBR, both figures",
            "messages for a subscription and a publication by IRBR, Scribe and reverse paths",
            _design("sapwood_lab.experiments.irbr_messages"),
        ),
        Experiment(
            "irbr-runs",
            "IRBR, both figures",
            "messages of IRBR, Scribe and RPF as they run, beside those that a model counts",
            _design("sapwood_lab.experiments.irbr_runs"),
        ),
        Experiment(
            "irbr-stretch",
            "IRBR, over Pastry (2001), 3.3",
            "how much longer ways over a circle are than direct ones, proximity off and on",
            _design("sapwood_lab.experiments.irbr_stretch"),
        ),
        Experiment(
            "irbr-faults",
            "IRBR, announced",
            "what is lost when 20 to 50 % of all routers crash at once, and how long repair takes",
            _design("sapwood_lab.experiments.irbr_faults"),
        ),
    ),
    group="sapwood_lab.experiments",
)


def experiment(name: str) -> Experiment:
    """The experiment of that name; raises `UnknownNameError` with the names there are."""
    return EXPERIMENTS.named(name)
