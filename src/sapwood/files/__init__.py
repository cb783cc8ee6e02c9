"""JSON Lines files: subscriptions and publications in, deliveries and rejected lines out."""

from __future__ import annotations

from sapwood.files.lines import (
    AdvertisementLine,
    PublicationLine,
    decode_advertisement,
    decode_publication,
    decode_record,
    decode_subscription,
    encode_publication,
    encode_subscription,
)
from sapwood.files.reading import (
    Counts,
    Line,
    PublicationReading,
    Reading,
    read_advertisements,
    read_publications,
    read_subscription_texts,
    read_subscriptions,
)
from sapwood.files.rejections import (
    REJECTED_SUFFIX,
    KeptRejections,
    RejectedFile,
    RejectedLog,
    Rejections,
    StrictRejections,
    rejected_path,
)
from sapwood.files.writing import STANDARD_INPUT, STANDARD_OUTPUT, DeliveryWriter, replacing

__all__ = [
    "REJECTED_SUFFIX",
    "STANDARD_INPUT",
    "STANDARD_OUTPUT",
    "AdvertisementLine",
    "Counts",
    "DeliveryWriter",
    "KeptRejections",
    "Line",
    "PublicationLine",
    "PublicationReading",
    "Reading",
    "RejectedFile",
    "RejectedLog",
    "Rejections",
    "StrictRejections",
    "decode_advertisement",
    "decode_publication",
    "decode_record",
    "decode_subscription",
    "encode_publication",
    "encode_subscription",
    "read_advertisements",
    "read_publications",
    "read_subscription_texts",
    "read_subscriptions",
    "rejected_path",
    "replacing",
]
