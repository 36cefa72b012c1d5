/**
 * Ends the program with a sentence if Node.js is older than `engines` of package.json requires. Written in the JavaScript
 * of 2009, and without imports, so that refused versions can run it.
 */
var oldest = [20, 19]
var found = process.versions.node.split('.').map(Number)
if (found[0] < oldest[0] || (found[0] === oldest[0] && found[1] < oldest[1])) {
  console.error(
    'Tidegate needs Node.js ' +
      oldest.join('.') +
      ' or newer, and this is ' +
      process.versions.node +
      '; newer ones: https://nodejs.org',
  )
  process.exit(1)
}
