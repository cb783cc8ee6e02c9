"""The coverings of the published works: relation graphs, indexes, curves, procedures.

They are faithful and measured; routers use them where a protocol names them.
"""
