"""The audit's judgement, on the golden logs and on what is planted in them."""
