"""Messages about drift and failures, and the channels that carry them."""
