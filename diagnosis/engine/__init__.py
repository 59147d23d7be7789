"""Log text in, verdict out: no Django, no network, no clock."""
