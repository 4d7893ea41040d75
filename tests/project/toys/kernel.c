/* How often two arrays agree. */

#include "kernels.h"

KERNEL(toy, Int32s first; Int32s second;)
{
    if (a->first.length != a->second.length)
        return MISFIT;
    int64_t found = 0;
    for (int64_t place = 0; place < a->first.length; place++)
        found += a->first.at[place] == a->second.at[place];
    return found;
}
