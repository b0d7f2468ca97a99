// z = a * x + y over a million numbers, a thread to each, with a guard for the last block.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @saxpy(%a: f32, %x: memref<1000000xf32>, %y: memref<1000000xf32>, %z: memref<1000000xf32>) kernel
        attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 3907, 1, 1>} {
      %n = arith.constant 1000000 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %threads = gpu.block_dim x
      %first = arith.muli %block, %threads : index
      %i = arith.addi %first, %thread : index
      %inside = arith.cmpi ult, %i, %n : index
      scf.if %inside {
        %xi = memref.load %x[%i] : memref<1000000xf32>
        %yi = memref.load %y[%i] : memref<1000000xf32>
        %ax = arith.mulf %a, %xi : f32
        %sum = arith.addf %ax, %yi : f32
        memref.store %sum, %z[%i] : memref<1000000xf32>
      }
      gpu.return
    }
  }
}
