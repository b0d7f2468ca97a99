//! What of MLIR is linked: the dialects that the emitter writes, those that they are lowered to, the passes of the
//! pipeline, and NVPTX.
//!
//! MLIR's C interface can register one dialect or pass, or all of them. How dialects are converted to LLVM's, and that
//! one into LLVM IR, it can only register all at once, which links MLIR as a whole and the back ends of other GPUs with
//! it: three times the size, and 30 ms at the start of each context. So those functions are called by the names that
//! C++ gives them. They take a reference to a registry, which C++'s calling convention passes as the pointer that
//! `MlirDialectRegistry` holds, and the names are those of MLIR 22, to which the version of `mlir-sys` is bound: with
//! another, nothing links.

use melior::Context;
use melior::dialect::DialectRegistry;
use mlir_sys::{
    mlirDialectHandleInsertDialect, mlirGetDialectHandle__affine__, mlirGetDialectHandle__arith__,
    mlirGetDialectHandle__cf__, mlirGetDialectHandle__dlti__, mlirGetDialectHandle__func__,
    mlirGetDialectHandle__gpu__, mlirGetDialectHandle__index__, mlirGetDialectHandle__llvm__,
    mlirGetDialectHandle__math__, mlirGetDialectHandle__memref__, mlirGetDialectHandle__nvgpu__,
    mlirGetDialectHandle__nvvm__, mlirGetDialectHandle__scf__, mlirGetDialectHandle__ub__,
    mlirGetDialectHandle__vector__, mlirRegisterConversionConvertGpuOpsToNVVMOps,
    mlirRegisterConversionConvertNVGPUToNVVMPass, mlirRegisterConversionConvertNVVMToLLVMPass,
    mlirRegisterConversionLowerAffinePass, mlirRegisterConversionReconcileUnrealizedCastsPass,
    mlirRegisterConversionSCFToControlFlowPass, mlirRegisterGPUGpuModuleToBinaryPass,
    mlirRegisterGPUGpuNVVMAttachTarget, mlirRegisterMemRefExpandStridedMetadataPass, mlirRegisterTransformsCSE,
    mlirRegisterTransformsCanonicalizer,
};
use std::ffi::c_void;
use std::sync::Once;

macro_rules! extensions {
    ($($name:ident = $symbol:literal;)*) => {
        unsafe extern "C" {
            $(#[link_name = $symbol] fn $name(registry: *mut c_void);)*
        }
        /// How dialects are converted, and translated into LLVM IR.
        const EXTENSIONS: &[unsafe extern "C" fn(*mut c_void)] = &[$($name),*];
    };
}

extensions! {
    arith_to_llvm = "_ZN4mlir5arith35registerConvertArithToLLVMInterfaceERNS_15DialectRegistryE";
    cf_to_llvm = "_ZN4mlir2cf41registerConvertControlFlowToLLVMInterfaceERNS_15DialectRegistryE";
    func_to_llvm = "_ZN4mlir34registerConvertFuncToLLVMInterfaceERNS_15DialectRegistryE";
    gpu_to_nvvm = "_ZN4mlir4NVVM33registerConvertGpuToNVVMInterfaceERNS_15DialectRegistryE";
    index_to_llvm = "_ZN4mlir5index35registerConvertIndexToLLVMInterfaceERNS_15DialectRegistryE";
    math_to_llvm = "_ZN4mlir34registerConvertMathToLLVMInterfaceERNS_15DialectRegistryE";
    memref_to_llvm = "_ZN4mlir36registerConvertMemRefToLLVMInterfaceERNS_15DialectRegistryE";
    nvvm_to_llvm = "_ZN4mlir34registerConvertNVVMToLLVMInterfaceERNS_15DialectRegistryE";
    ub_to_llvm = "_ZN4mlir2ub32registerConvertUBToLLVMInterfaceERNS_15DialectRegistryE";
    vector_to_llvm = "_ZN4mlir6vector36registerConvertVectorToLLVMInterfaceERNS_15DialectRegistryE";
    builtin_translation = "_ZN4mlir33registerBuiltinDialectTranslationERNS_15DialectRegistryE";
    gpu_translation = "_ZN4mlir29registerGPUDialectTranslationERNS_15DialectRegistryE";
    llvm_translation = "_ZN4mlir30registerLLVMDialectTranslationERNS_15DialectRegistryE";
    nvvm_translation = "_ZN4mlir30registerNVVMDialectTranslationERNS_15DialectRegistryE";
    nvvm_target = "_ZN4mlir4NVVM41registerNVVMTargetInterfaceExternalModelsERNS_15DialectRegistryE";
}

/// Adds the dialects of the emitter's text, and how they are lowered, to a registry.
pub fn add_dialects(registry: &DialectRegistry) {
    let raw = registry.to_raw();
    // SAFETY: the registry is alive, the handles are constants, and the functions only add to the registry. That the
    // functions of C++ take the pointer is said above.
    unsafe {
        let handles = [
            mlirGetDialectHandle__affine__(),
            mlirGetDialectHandle__arith__(),
            mlirGetDialectHandle__cf__(),
            mlirGetDialectHandle__dlti__(),
            mlirGetDialectHandle__func__(),
            mlirGetDialectHandle__gpu__(),
            mlirGetDialectHandle__index__(),
            mlirGetDialectHandle__llvm__(),
            mlirGetDialectHandle__math__(),
            mlirGetDialectHandle__memref__(),
            mlirGetDialectHandle__nvgpu__(),
            mlirGetDialectHandle__nvvm__(),
            mlirGetDialectHandle__scf__(),
            mlirGetDialectHandle__ub__(),
            mlirGetDialectHandle__vector__(),
        ];
        for handle in handles {
            mlirDialectHandleInsertDialect(handle, raw);
        }
        for extend in EXTENSIONS {
            extend(raw.ptr);
        }
    }
}

/// Makes the passes of the pipeline known by name, to the whole process: MLIR has one table of passes.
pub fn register_passes() {
    static ONCE: Once = Once::new();
    // SAFETY: each adds a row to the table, and is called once, by one thread.
    ONCE.call_once(|| unsafe {
        mlirRegisterConversionConvertGpuOpsToNVVMOps();
        mlirRegisterConversionConvertNVGPUToNVVMPass();
        mlirRegisterConversionConvertNVVMToLLVMPass();
        mlirRegisterConversionLowerAffinePass();
        mlirRegisterConversionReconcileUnrealizedCastsPass();
        mlirRegisterConversionSCFToControlFlowPass();
        mlirRegisterGPUGpuModuleToBinaryPass();
        mlirRegisterGPUGpuNVVMAttachTarget();
        mlirRegisterMemRefExpandStridedMetadataPass();
        mlirRegisterTransformsCSE();
        mlirRegisterTransformsCanonicalizer();
    });
}

/// A context that knows these dialects, and works on one thread: that of the caller.
pub(crate) fn context() -> Context {
    register_passes();
    let registry = DialectRegistry::new();
    add_dialects(&registry);
    Context::new_with_registry(&registry, false)
}
