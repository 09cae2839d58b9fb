// Runs the bare module of an artifact on any PJRT plugin, with no Python at all.
//
//   g++ -std=c++17 -I FOLDER_WITH_PJRT_HEADER with_pjrt.cc -o with_pjrt -ldl
//   ./with_pjrt PLUGIN.so fibonacci.stablehlo 0 1 5 7 10
//
// The artifact is of a function of one i32, for a batch of as many as are given: `hlobatch export … --args "i32[5]"
// --stablehlo fibonacci.stablehlo`. It gives the results, what stopped the run (0 for nothing), and the status of each
// input. `pjrt_c_api.h` is in XLA's `xla/pjrt/c`, and in the wheels of TensorFlow.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pjrt_c_api.h"

namespace {

const PJRT_Api* api;

// Every call gives null, or an error that belongs to the caller.
void check(PJRT_Error* error) {
  if (error == nullptr) return;
  PJRT_Error_Message_Args message{};
  message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  api->PJRT_Error_Message(&message);
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(message.message_size), message.message);
  std::exit(1);
}

void wait(PJRT_Event* event) {
  PJRT_Event_Await_Args await{};
  await.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE;
  await.event = event;
  check(api->PJRT_Event_Await(&await));
  PJRT_Event_Destroy_Args destroy{};
  destroy.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
  destroy.event = event;
  check(api->PJRT_Event_Destroy(&destroy));
}

const PJRT_Api* load(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "error: %s\n", dlerror());
    std::exit(1);
  }
  auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(plugin, "GetPjrtApi"));
  if (get == nullptr) {
    std::fprintf(stderr, "error: %s is no PJRT plugin\n", path);
    std::exit(1);
  }
  return get();
}

PJRT_LoadedExecutable* compile(PJRT_Client* client, std::string code) {
  // A CompileOptionsProto: executable_build_options { device_ordinal: -1 num_replicas: 1 num_partitions: 1 }.
  const std::string options("\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01", 17);
  const std::string format = "mlir";
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = code.data();
  program.code_size = code.size();
  program.format = format.data();
  program.format_size = format.size();
  PJRT_Client_Compile_Args args{};
  args.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE;
  args.client = client;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  check(api->PJRT_Client_Compile(&args));
  return args.executable;
}

PJRT_Buffer* to_device(PJRT_Client* client, PJRT_Device* device, const std::vector<int32_t>& values) {
  const int64_t size = static_cast<int64_t>(values.size());
  PJRT_Client_BufferFromHostBuffer_Args args{};
  args.struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE;
  args.client = client;
  args.data = values.data();
  args.type = PJRT_Buffer_Type_S32;
  args.dims = &size;
  args.num_dims = 1;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
  args.device = device;
  check(api->PJRT_Client_BufferFromHostBuffer(&args));
  wait(args.done_with_host_buffer);
  return args.buffer;
}

std::vector<int32_t> to_host(PJRT_Buffer* buffer, size_t count) {
  std::vector<int32_t> values(count);
  PJRT_Buffer_ToHostBuffer_Args args{};
  args.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE;
  args.src = buffer;
  args.dst = values.data();
  args.dst_size = count * sizeof(int32_t);
  check(api->PJRT_Buffer_ToHostBuffer(&args));
  wait(args.event);
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: with_pjrt PLUGIN.so FILE.stablehlo NUMBER...\n");
    return 2;
  }
  api = load(argv[1]);
  PJRT_Plugin_Initialize_Args initialize{};
  initialize.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE;
  check(api->PJRT_Plugin_Initialize(&initialize));
  PJRT_Client_Create_Args create{};
  create.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
  check(api->PJRT_Client_Create(&create));

  std::ifstream file(argv[2], std::ios::binary);
  PJRT_LoadedExecutable* executable =
      compile(create.client, std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));

  PJRT_Client_AddressableDevices_Args devices{};
  devices.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE;
  devices.client = create.client;
  check(api->PJRT_Client_AddressableDevices(&devices));

  std::vector<int32_t> inputs;
  for (int i = 3; i < argc; ++i) inputs.push_back(std::atoi(argv[i]));
  PJRT_Buffer* argument = to_device(create.client, devices.addressable_devices[0], inputs);
  PJRT_Buffer* const arguments[] = {argument};
  PJRT_Buffer* const* const argument_lists[] = {arguments};
  PJRT_Buffer* outputs[3] = {};  // result, stopped, status
  PJRT_Buffer** const output_lists[] = {outputs};
  PJRT_Event* done[1] = {};

  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  PJRT_LoadedExecutable_Execute_Args execute{};
  execute.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE;
  execute.executable = executable;
  execute.options = &options;
  execute.argument_lists = argument_lists;
  execute.num_devices = 1;
  execute.num_args = 1;
  execute.output_lists = output_lists;
  execute.device_complete_events = done;
  check(api->PJRT_LoadedExecutable_Execute(&execute));
  wait(done[0]);

  const char* names[] = {"result", "stopped", "status"};
  const size_t counts[] = {inputs.size(), 1, inputs.size()};
  for (int i = 0; i < 3; ++i) {
    std::printf("%s", names[i]);
    for (int32_t value : to_host(outputs[i], counts[i])) std::printf(" %d", value);
    std::printf("\n");
  }
  return 0;
}
