"""A recorded conversation and the small project that it was held about."""
