
/* The folder of the code; none stands for the current one. */
static char bundle_tc_folder[4096];

bundle_status bundle_set_folder(const char *folder) {
  size_t length = folder != NULL ? strlen(folder) : 0;
  if (folder == NULL) return bundle_tc_fail(BUNDLE_NULL_POINTER, "`folder` is null");
  if (length >= sizeof bundle_tc_folder) {
    return bundle_tc_fail(BUNDLE_BAD_ARGUMENT, "the name of the folder has %llu bytes, and may have 4095",
                          (unsigned long long)length);
  }
  pthread_mutex_lock(&bundle_tc_mutex);
  memcpy(bundle_tc_folder, folder, length + 1);
  pthread_mutex_unlock(&bundle_tc_mutex);
  return BUNDLE_OK;
}

/* What the driver loads, which is read from its file and freed by the caller; the mutex is held. */
static bundle_status bundle_tc_image(const bundle_tc_code *code, const void **image, void **read) {
  char path[sizeof bundle_tc_folder + 256];
  const char *folder = bundle_tc_folder[0] == '\0' ? "." : bundle_tc_folder;
  FILE *file;
  size_t length = 0;
  snprintf(path, sizeof path, "%s/%s", folder, (const char *)code->image);
  file = fopen(path, "rb");
  if (file == NULL) return bundle_tc_fail(BUNDLE_BAD_CODE, "cannot open `%s`", path);
  /* One byte more than it has, so that a longer file is noticed. */
  *read = malloc(code->bytes + 1);
  if (*read != NULL) length = fread(*read, 1, code->bytes + 1, file);
  fclose(file);
  if (*read == NULL) return bundle_tc_fail(BUNDLE_NO_MEMORY, "there is no memory on the host");
  if (length != code->bytes) {
    free(*read);
    *read = NULL;
    return bundle_tc_fail(BUNDLE_BAD_CODE, "`%s` is not the file that was written with this source", path);
  }
  *image = *read;
  return BUNDLE_OK;
}
