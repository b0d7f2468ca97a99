// What the parts of a line are, for their colours: of the language and of CUDA C++. The documentation's site uses it too.

const GRAMMAR = {
  tir: {
    key: /^(for|in|if|else|let|alloc|return|yield|where|attributes|cast|compute|true|false|inf|nan|schedule|schedule\.func|bind|sum|prod|min|max|any|all|tir\.func|te\.func|te\.combiner|te\.intrin)$/,
    type: /^(f16|bf16|f32|f64|f8e4m3|f8e5m2|tf32|bool|index|[iu](8|16|32|64))(x[0-9]+)?$/,
  },
  cuda: {
    key: /^(extern|__global__|__launch_bounds__|__shared__|__device__|__forceinline__|__restrict__|__align__|static|inline|struct|const|volatile|asm|for|if|else|while|do|return|sizeof|true|false|__syncthreads|threadIdx|blockIdx)$/,
    type: /^(void|bool|char|short|int|long|unsigned|float|double|half|half2|__half|__half2|__nv_bfloat16|size_t|u?int(8|16|32|64)_t|(float|int|uint|double)[234])$/,
  },
};
const TOKEN = /(\/\/.*|#include.*|#line.*)|(@"(?:[^"\\]|\\.)*"|@[A-Za-z_$][\w$]*)|("(?:[^"\\]|\\.)*")|(\b0x[0-9A-Fa-f.]+(?:p[+-]?\d+)?\w*|\b\d[\d.]*(?:[eE][+-]?\d+)?\w*)|([A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)*)/g;

/** The classes of a line: [start, end, class], in order. */
function classes(line, language) {
  const [found, grammar] = [[], GRAMMAR[language]];
  if (!grammar || line.length > 4000) return found;
  for (const match of line.matchAll(TOKEN)) {
    const [text, comment, symbol, string, number, word] = match;
    let name = '';
    if (comment) name = 'c'; else if (symbol) name = 'y'; else if (string) name = 'q'; else if (number) name = 'd';
    else if (grammar.key.test(word)) name = 'k';
    else if (grammar.type.test(word)) name = 't';
    else if (language === 'tir' && word.includes('.')) name = 'o';
    if (name) found.push([match.index, match.index + text.length, name]);
  }
  return found;
}
