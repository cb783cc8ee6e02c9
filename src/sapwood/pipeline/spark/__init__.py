"""What the jobs need of Spark itself: sessions, Java, shuffles, caches, its errors in words."""
