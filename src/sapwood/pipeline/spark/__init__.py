"""The use of Spark itself: sessions, Java, stores, shuffles, DataFrames, its errors in words."""
