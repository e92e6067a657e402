/**
 * Returns the form in which texts are compared and searched, the same as on the server: without differences in case,
 * width, Unicode form, and white space, and without invisible characters.
 */
export const comparable = (text: string): string =>
  text
    .replaceAll(/[\p{Cf}\p{DI}]/gu, '')
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll('i\u0307', 'i')
    .replaceAll('ς', 'σ')
    .replaceAll('ß', 'ss')
    .replaceAll(/\s+/gu, ' ')
    .trim()
