gpu.module @kernels {
  gpu.func @scale(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %k: f32)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %n = memref.dim %x, %c0 : memref<?x64xf32>
    %row = gpu.block_id x
    %lane = gpu.thread_id x
    %inside = arith.cmpi slt, %row, %n : index
    %v = scf.if %inside -> f32 {
      %l = memref.load %x[%row, %lane] : memref<?x64xf32>
      scf.yield %l : f32
    } else {
      %zero = arith.constant 0.0 : f32
      scf.yield %zero : f32
    }
    memref.store %v, %s[%lane] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %width = arith.constant 32 : i32
    %far = arith.constant 16 : i32
    %v16, %is = gpu.shuffle xor %v, %far, %width : f32
    %scaled = arith.mulf %v16, %k : f32
    scf.if %inside {
      memref.store %scaled, %y[%row, %lane] : memref<?x64xf32>
    }
    gpu.return
  }
}
