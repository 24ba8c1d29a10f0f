"""``seedance checkpoint``: what a training keeps, whether it is whole, and how it leaves and comes back."""
