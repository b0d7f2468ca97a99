module {
  gpu.module @kernels {
    gpu.func @k(%a: memref<64xf32>, %s: memref<8x8xf32, strided<[16, 1]>>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      gpu.return
    }
    gpu.func @ops(%a: memref<64xf32>, %n: index) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<64xf32>
      %m = arith.maximumf %x, %x : f32
      %r = arith.remf %x, %x : f32
      %d = math.cbrt %x : f32
      scf.for %j = %c0 to %c1 step %n {
        scf.yield
      }
      %w = scf.while (%v = %c0) : (index) -> index {
        %go = arith.cmpi slt, %v, %c1 : index
        scf.condition(%go) %v : index
      } do {
      ^bb0(%v: index):
        scf.yield %c1 : index
      }
      %b = arith.bitcast %x : f32 to i32
      %q = arith.addi %b, %b : i32
      %old = memref.atomic_rmw addf %x, %a[%i] : (f32, memref<64xf32>) -> f32
      %twice = arith.addf %old, %old : f32
      // What depends on something that was refused is not told again.
      %y = arith.addf %d, %m : f32
      gpu.return
    }
    gpu.func @unknown(%a: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      gpu.return
    }
    gpu.func @called(%x: f32) -> f32 {
      gpu.return %x : f32
    }
    gpu.func @blocks(%a: memref<64xf32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      cf.br ^bb1
    ^bb1:
      gpu.return
    }
  }
}
