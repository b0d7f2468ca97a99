
/* What the driver loads. */
static bundle_status bundle_tc_image(const bundle_tc_code *code, const void **image, void **read) {
  *image = code->image;
  *read = NULL;
  return BUNDLE_OK;
}
