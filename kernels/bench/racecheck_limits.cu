// What racecheck says of programs that are right.
//
//     nvcc -arch=sm_90a -std=c++17 -o racecheck_limits racecheck_limits.cu
//     compute-sanitizer --tool racecheck ./racecheck_limits one     (or all)
//
// one  A warp writes 32 words, then one of its threads arrives at a barrier in shared memory; a
//      warp that has waited for it reads them. The hardware takes a warp's writes and its later
//      arrival in this order; racecheck takes the arrival as that of one thread alone. Triton
//      arrives so, and `hopper.weigh` writes so.
// all  The same, but that each thread arrives: nothing is reported.
//
// Each prints what its readers have summed up; a race would change it.
#include <cstdio>
#include <cstring>
#include <cuda/ptx>

constexpr int ROUNDS = 64;

__global__ void arrive(int *out, bool all) {
  __shared__ int words[2][32];
  __shared__ uint64_t full[2], empty[2];
  int lane = threadIdx.x % 32, sum = 0;
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; s++) {
      cuda::ptx::mbarrier_init(&full[s], all ? 32 : 1);
      cuda::ptx::mbarrier_init(&empty[s], all ? 32 : 1);
    }
  __syncthreads();
  for (int j = 0; j < ROUNDS; j++) {
    int s = j % 2, phase = (j / 2) & 1;
    if (threadIdx.x < 32) {
      while (!cuda::ptx::mbarrier_try_wait_parity(&empty[s], phase ^ 1));
      words[s][lane] = j + lane;
      __syncwarp();
      if (all || lane == 0) cuda::ptx::mbarrier_arrive(&full[s]);
    } else {
      while (!cuda::ptx::mbarrier_try_wait_parity(&full[s], phase));
      sum += words[s][(lane + 1) % 32];
      __syncwarp();
      if (all || lane == 0) cuda::ptx::mbarrier_arrive(&empty[s]);
    }
  }
  if (threadIdx.x >= 32) out[lane] = sum;
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "one";
  int *out;
  cudaMallocManaged(&out, 32 * sizeof(int));
  arrive<<<1, 64>>>(out, !strcmp(way, "all"));
  cudaError_t error = cudaDeviceSynchronize();
  printf("%s: %d, %s\n", way, out[3], cudaGetErrorString(error));
  return error != cudaSuccess;
}
