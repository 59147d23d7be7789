"""What the categories of failures are called, and what belongs to each."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CATEGORY_NAMES"]

# Folder of the catalogue → the name that people read. The order is that of the browse page.
CATEGORY_NAMES: Mapping[str, str] = {
    "memory": "Memory",
    "communication": "Communication",
    "hardware": "Hardware",
    "cuda-runtime": "CUDA runtime",
    "storage": "Storage",
    "data": "Data loading",
    "orchestration": "Orchestration",
    "environment": "Environment",
    "numerics": "Numerics",
    "framework": "Framework",
    "serving": "Serving",
}
