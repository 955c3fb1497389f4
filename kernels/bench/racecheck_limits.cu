// What racecheck reports of programs that are right.
//
//     nvcc -arch=sm_90a -std=c++17 -o racecheck_limits racecheck_limits.cu
//     compute-sanitizer --tool racecheck ./racecheck_limits one     (or all, or split)
//
// one    A warp writes 32 words, one of its threads arrives at a barrier, and another warp, which
//        has waited for it, reads them. The hardware takes a warp's writes and its later arrival in
//        this order, and the compiler drops __syncwarp() where a warp is together; racecheck takes
//        the arrival as that of one thread alone. Triton arrives so after `gl.store`.
// all    The same, but that each thread arrives.
// split  Two warps meet at a named barrier, each in code of its own, as the groups of
//        `warp_specialize` do; one has written a word before it, and the other reads it after.
//
// Each prints the same sum as the other two; racecheck should report nothing.
#include <cstdio>
#include <cstring>
#include <cuda/ptx>

enum Way { ONE, ALL, SPLIT };

__global__ void meet(int *out, Way way) {
  __shared__ int words[2][32];
  __shared__ uint64_t full[2], empty[2];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = 0;
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; s++) {
      cuda::ptx::mbarrier_init(&full[s], way == ALL ? 32 : 1);
      cuda::ptx::mbarrier_init(&empty[s], way == ALL ? 32 : 1);
    }
  __syncthreads();
  if (way == SPLIT) {
    for (int j = 0; j < 64; j++) {
      if (warp == 0) {
        words[0][lane] = j + lane;
        asm volatile("barrier.sync 1, 64;" ::: "memory");
        asm volatile("barrier.sync 1, 64;" ::: "memory");
      } else {
        asm volatile("barrier.sync 1, 64;" ::: "memory");
        sum += words[0][(lane + 1) % 32];
        asm volatile("barrier.sync 1, 64;" ::: "memory");
      }
    }
  } else {
    for (int j = 0; j < 64; j++) {
      int s = j % 2, phase = (j / 2) & 1;
      if (warp == 0) {
        while (!cuda::ptx::mbarrier_try_wait_parity(&empty[s], phase ^ 1));
        words[s][lane] = j + lane;
        __syncwarp();
        if (way == ALL || lane == 0) cuda::ptx::mbarrier_arrive(&full[s]);
      } else {
        while (!cuda::ptx::mbarrier_try_wait_parity(&full[s], phase));
        sum += words[s][(lane + 1) % 32];
        __syncwarp();
        if (way == ALL || lane == 0) cuda::ptx::mbarrier_arrive(&empty[s]);
      }
    }
  }
  if (warp == 1) out[lane] = sum;
}

int main(int, char **arguments) {
  const char *name = arguments[1];
  Way way = !strcmp(name, "one") ? ONE : !strcmp(name, "all") ? ALL : SPLIT;
  int *out;
  cudaMallocManaged(&out, 32 * sizeof(int));
  meet<<<1, 64>>>(out, way);
  cudaError_t error = cudaDeviceSynchronize();
  printf("%s: %d, %s\n", name, out[3], cudaGetErrorString(error));
  return error != cudaSuccess;
}
