import { lazyPart } from '../app/lazy'
import { useToastsWanted } from './toast'

/** Toasts wait if the list can't be loaded. */
const ToastList = lazyPart(() => import('./ToastList'), 'ToastList')

/** The container of the toasts. Rendered once. */
export function Toasts() {
  return useToastsWanted() && <ToastList />
}
