"""What the shop's Python services share."""
