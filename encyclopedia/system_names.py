"""One name for each system: the others under which it is known, and where they lead."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ONE_NAME"]

# What a failure file does not call a system, and what it calls it.
ONE_NAME: Mapping[str, str] = {
    "axolotl": "Axolotl",
    "CSI": "CSI drivers",
    "datasets": "Hugging Face Datasets",
    "diffusers": "Diffusers",
    "flash-attn": "FlashAttention",
    "huggingface_hub": "Hugging Face Hub",
    "Kubernetes GPU Operator": "GPU Operator",
    "Lightning": "PyTorch Lightning",
    "NVIDIA k8s-device-plugin": "NVIDIA device plugin",
    "NVIDIA NeMo": "NeMo",
    "nvidia-container-toolkit": "NVIDIA Container Toolkit",
    "pyarrow": "PyArrow",
    "PyTorch FSDP": "FSDP",
    "sentence-transformers": "Sentence Transformers",
    "Slurm clusters": "Slurm",
    "text-generation-inference": "Text Generation Inference",
    "TGI": "Text Generation Inference",
    "Transformers": "Hugging Face Transformers",
    "Transformers Trainer": "Hugging Face Trainer",
    "webdataset": "WebDataset",
    "xtuner": "XTuner",
}
