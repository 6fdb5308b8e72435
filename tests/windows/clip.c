/* The clipboard as another program sees it: `clip get` prints its text, `clip set` takes it from a file. */
#include <stdio.h>
#include <string.h>
#include <windows.h>

static char bytes[1 << 20];
static WCHAR wide[1 << 20];

int main(int count, char **words) {
    if (count < 2 || !OpenClipboard(NULL))
        return 2;
    if (!strcmp(words[1], "get")) {
        HANDLE data = GetClipboardData(CF_UNICODETEXT);
        if (!data)
            return 1;
        int length = WideCharToMultiByte(CP_UTF8, 0, GlobalLock(data), -1, bytes, sizeof bytes, NULL, NULL);
        fwrite(bytes, 1, length - 1, stdout);
    } else {
        FILE *file = fopen(words[2], "rb");
        int length = file ? (int)fread(bytes, 1, sizeof bytes - 1, file) : 0;
        int places = MultiByteToWideChar(CP_UTF8, 0, bytes, length + 1, wide, sizeof wide / sizeof *wide);
        HANDLE data = GlobalAlloc(GMEM_MOVEABLE, places * sizeof *wide);
        memcpy(GlobalLock(data), wide, places * sizeof *wide);
        GlobalUnlock(data);
        EmptyClipboard();
        SetClipboardData(CF_UNICODETEXT, data);
    }
    CloseClipboard();
    return 0;
}
