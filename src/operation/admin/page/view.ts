/** The content below the header. */
export interface View {
  readonly element: HTMLElement
  /** Called when another view is shown. */
  close(): void
}
