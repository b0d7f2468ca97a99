"""The programs of five documents on te schedules, in their style; their imports name `tirc.tvm`."""
