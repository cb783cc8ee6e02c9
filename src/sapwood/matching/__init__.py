"""Sets of filters: which of them accept a publication.

`index.Index` is what users see: filters by id. Behind it stands one of several engines
(`engines.ENGINES`), each an implementation of `protocol.Engine`; `checks.check_index` is the
conformance suite that all of them pass, with the corpus of cases in `corpus/`.
"""
