"""JSON Lines files: subscriptions and publications in, deliveries and rejected lines out."""

from __future__ import annotations

from sapwood.files.lines import (
    AdvertisementLine,
    PublicationLine,
    decode_advertisement,
    decode_publication,
    decode_subscription,
    encode_publication,
    encode_subscription,
)
from sapwood.files.reading import (
    STANDARD_INPUT,
    Counts,
    Line,
    Reading,
    read_publications,
    read_subscriptions,
)
from sapwood.files.rejections import (
    REJECTED_SUFFIX,
    RejectedFile,
    Rejections,
    StrictRejections,
)
from sapwood.files.writing import DeliveryWriter, replacing

__all__ = [
    "REJECTED_SUFFIX",
    "STANDARD_INPUT",
    "AdvertisementLine",
    "Counts",
    "DeliveryWriter",
    "Line",
    "PublicationLine",
    "Reading",
    "RejectedFile",
    "Rejections",
    "StrictRejections",
    "decode_advertisement",
    "decode_publication",
    "decode_subscription",
    "encode_publication",
    "encode_subscription",
    "read_publications",
    "read_subscriptions",
    "replacing",
]
