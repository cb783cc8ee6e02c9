"""Why a publication came to a subscription or did not, hop by hop: what routers say if asked."""
