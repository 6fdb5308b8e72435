/* Holds a file open, so that nobody else can open or replace it: hold FILE MILLISECONDS. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

int main(int count, char **words) {
    if (count != 3)
        return 2;
    HANDLE file = CreateFileA(words[1], GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return 1;
    puts("held");
    fflush(stdout);
    Sleep(atoi(words[2]));
    return 0;
}
