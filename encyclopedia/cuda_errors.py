"""CUDA's errors by number, from `cudaError` and `CUresult` in NVIDIA's API references.

https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CUDA_ERRORS", "DRIVER_NAMES"]

# The runtime's names. The driver uses the same numbers.
CUDA_ERRORS: Mapping[int, str] = {
    1: "cudaErrorInvalidValue",
    2: "cudaErrorMemoryAllocation",
    3: "cudaErrorInitializationError",
    9: "cudaErrorInvalidConfiguration",
    34: "cudaErrorStubLibrary",
    35: "cudaErrorInsufficientDriver",
    46: "cudaErrorDevicesUnavailable",
    98: "cudaErrorInvalidDeviceFunction",
    100: "cudaErrorNoDevice",
    101: "cudaErrorInvalidDevice",
    200: "cudaErrorInvalidKernelImage",
    201: "cudaErrorDeviceUninitialized",
    209: "cudaErrorNoKernelImageForDevice",
    214: "cudaErrorECCUncorrectable",
    217: "cudaErrorPeerAccessUnsupported",
    218: "cudaErrorInvalidPtx",
    220: "cudaErrorNvlinkUncorrectable",
    221: "cudaErrorJitCompilerNotFound",
    222: "cudaErrorUnsupportedPtxVersion",
    226: "cudaErrorContained",
    302: "cudaErrorSharedObjectSymbolNotFound",
    303: "cudaErrorSharedObjectInitFailed",
    304: "cudaErrorOperatingSystem",
    400: "cudaErrorInvalidResourceHandle",
    401: "cudaErrorIllegalState",
    500: "cudaErrorSymbolNotFound",
    600: "cudaErrorNotReady",
    700: "cudaErrorIllegalAddress",
    701: "cudaErrorLaunchOutOfResources",
    702: "cudaErrorLaunchTimeout",
    704: "cudaErrorPeerAccessAlreadyEnabled",
    705: "cudaErrorPeerAccessNotEnabled",
    709: "cudaErrorContextIsDestroyed",
    710: "cudaErrorAssert",
    711: "cudaErrorTooManyPeers",
    712: "cudaErrorHostMemoryAlreadyRegistered",
    713: "cudaErrorHostMemoryNotRegistered",
    714: "cudaErrorHardwareStackError",
    715: "cudaErrorIllegalInstruction",
    716: "cudaErrorMisalignedAddress",
    717: "cudaErrorInvalidAddressSpace",
    718: "cudaErrorInvalidPc",
    719: "cudaErrorLaunchFailure",
    720: "cudaErrorCooperativeLaunchTooLarge",
    800: "cudaErrorNotPermitted",
    801: "cudaErrorNotSupported",
    802: "cudaErrorSystemNotReady",
    803: "cudaErrorSystemDriverMismatch",
    804: "cudaErrorCompatNotSupportedOnDevice",
    805: "cudaErrorMpsConnectionFailed",
    806: "cudaErrorMpsRpcFailure",
    807: "cudaErrorMpsServerNotReady",
    808: "cudaErrorMpsMaxClientsReached",
    809: "cudaErrorMpsMaxConnectionsReached",
    900: "cudaErrorStreamCaptureUnsupported",
    901: "cudaErrorStreamCaptureInvalidated",
    906: "cudaErrorStreamCaptureImplicit",
    999: "cudaErrorUnknown",
}
# The driver's names that are other words than the runtime's.
DRIVER_NAMES: Mapping[str, str] = {
    "CUDA_ERROR_OUT_OF_MEMORY": "cudaErrorMemoryAllocation",
    "CUDA_ERROR_NOT_INITIALIZED": "cudaErrorInitializationError",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "cudaErrorDevicesUnavailable",
    "CUDA_ERROR_INVALID_IMAGE": "cudaErrorInvalidKernelImage",
    "CUDA_ERROR_INVALID_CONTEXT": "cudaErrorDeviceUninitialized",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "cudaErrorNoKernelImageForDevice",
    "CUDA_ERROR_INVALID_HANDLE": "cudaErrorInvalidResourceHandle",
    "CUDA_ERROR_NOT_FOUND": "cudaErrorSymbolNotFound",
    "CUDA_ERROR_LAUNCH_FAILED": "cudaErrorLaunchFailure",
}
