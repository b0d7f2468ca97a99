// C = A * B by tiles of 16 x 16: a block loads a tile of each factor into workgroup memory, waits, and multiplies.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @matmul(%A: memref<256x512xf32>, %B: memref<512x128xf32>, %C: memref<256x128xf32>)
        workgroup(%As: memref<16x16xf32, #gpu.address_space<workgroup>>,
                  %Bs: memref<16x16xf32, #gpu.address_space<workgroup>>)
        kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %c512 = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %bx = gpu.block_id x
      %by = gpu.block_id y
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %row0 = arith.muli %by, %c16 : index
      %row = arith.addi %row0, %ty : index
      %col0 = arith.muli %bx, %c16 : index
      %col = arith.addi %col0, %tx : index
      %sum = scf.for %k = %c0 to %c512 step %c16 iter_args(%acc = %zero) -> (f32) {
        %ka = arith.addi %k, %tx : index
        %a = memref.load %A[%row, %ka] : memref<256x512xf32>
        memref.store %a, %As[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
        %kb = arith.addi %k, %ty : index
        %b = memref.load %B[%kb, %col] : memref<512x128xf32>
        memref.store %b, %Bs[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
        gpu.barrier
        %part = scf.for %kk = %c0 to %c16 step %c1 iter_args(%inner = %acc) -> (f32) {
          %l = memref.load %As[%ty, %kk] : memref<16x16xf32, #gpu.address_space<workgroup>>
          %r = memref.load %Bs[%kk, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
          %p = arith.mulf %l, %r : f32
          %s = arith.addf %inner, %p : f32
          scf.yield %s : f32
        }
        gpu.barrier
        scf.yield %part : f32
      }
      memref.store %sum, %C[%row, %col] : memref<256x128xf32>
      gpu.return
    }
  }

  // The host launches the kernel; how many blocks and threads there are is read here.
  func.func @main(%A: memref<256x512xf32>, %B: memref<512x128xf32>, %C: memref<256x128xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    gpu.launch_func @kernels::@matmul blocks in (%c8, %c16, %c1) threads in (%c16, %c16, %c1)
        args(%A : memref<256x512xf32>, %B : memref<512x128xf32>, %C : memref<256x128xf32>)
    return
  }
}
