// The library bcryptprimitives.dll, with the one function that programs of Go need of it.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size); // RtlGenRandom

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T size)
{
	return SystemFunction036(buffer, (ULONG)size);
}
