/* What the library says of itself: a hash of what it was compiled from, which hatch_build.py computes. */

#include "kernels.h"

EXPORT const char dpmine_sources[] = KERNELS_SOURCES;
