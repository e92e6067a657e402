export { shortIn } from '../app/format'
