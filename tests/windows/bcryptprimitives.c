__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *, unsigned long);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *to, unsigned long long length) {
    return SystemFunction036(to, (unsigned long)length);
}
