// Prints the files and pipes that this process inherited, besides its standard input and output.
#include <stdio.h>
#include <windows.h>

int main(void) {
    HANDLE own[] = {GetStdHandle(STD_INPUT_HANDLE), GetStdHandle(STD_OUTPUT_HANDLE), GetStdHandle(STD_ERROR_HANDLE)};
    puts("handles:");
    for (ULONG_PTR number = 4; number < 4096; number += 4) {
        HANDLE handle = (HANDLE)number;
        char name[MAX_PATH] = "?";
        DWORD type = GetFileType(handle);
        if (handle == own[0] || handle == own[1] || handle == own[2]) continue;
        if (type != FILE_TYPE_DISK && type != FILE_TYPE_PIPE) continue;
        GetFinalPathNameByHandleA(handle, name, sizeof name, 0);
        printf("%lu: type %lu, %s\n", (unsigned long)number, type, name);
    }
    return 0;
}
