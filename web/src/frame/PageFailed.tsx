import type { ErrorComponentProps } from '@tanstack/react-router'
import { isLoadError } from '../app/lazy'
import { Broken } from './ErrorPages'
import { NotLoaded } from './NotLoaded'

/** Shown in place of a page that couldn't load or that can't be shown. The layout around it stays. */
export const PageFailed = (props: ErrorComponentProps) =>
  isLoadError(props.error) ? <NotLoaded {...props} /> : <Broken {...props} />
