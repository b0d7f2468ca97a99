module {
  func.func @f() {
    %x = tensor.empty() : tensor<4xf32>
    return
  }
}
