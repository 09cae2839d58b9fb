# RUN: %python %s | filecheck %s
# RUN: not %python %s fail | FileCheck %s --check-prefix=FAIL
import os
import sys

print("platforms:", os.environ["JAX_PLATFORMS"])
# CHECK: platforms: cpu

sys.exit("fail" in sys.argv)
# FAIL: platforms
