// The sum of each row, a warp to a row: lanes add up every 32nd number, then exchange their sums.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @row_sum(%x: memref<64x?xf32>, %sums: memref<64xf32>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0.0 : f32
      %width = arith.constant 32 : i32
      %row = gpu.block_id x
      %lane = gpu.thread_id x
      %n = memref.dim %x, %c1 : memref<64x?xf32>
      %part = scf.for %i = %lane to %n step %c32 iter_args(%acc = %zero) -> (f32) {
        %v = memref.load %x[%row, %i] : memref<64x?xf32>
        %s = arith.addf %acc, %v : f32
        scf.yield %s : f32
      }
      %d16 = arith.constant 16 : i32
      %v16, %p16 = gpu.shuffle xor %part, %d16, %width : f32
      %s16 = arith.addf %part, %v16 : f32
      %d8 = arith.constant 8 : i32
      %v8, %p8 = gpu.shuffle xor %s16, %d8, %width : f32
      %s8 = arith.addf %s16, %v8 : f32
      %d4 = arith.constant 4 : i32
      %v4, %p4 = gpu.shuffle xor %s8, %d4, %width : f32
      %s4 = arith.addf %s8, %v4 : f32
      %d2 = arith.constant 2 : i32
      %v2, %p2 = gpu.shuffle xor %s4, %d2, %width : f32
      %s2 = arith.addf %s4, %v2 : f32
      %d1 = arith.constant 1 : i32
      %v1, %p1 = gpu.shuffle xor %s2, %d1, %width : f32
      %total = arith.addf %s2, %v1 : f32
      %first = arith.cmpi eq, %lane, %c0 : index
      scf.if %first {
        memref.store %total, %sums[%row] : memref<64xf32>
      }
      gpu.return
    }
  }
}
