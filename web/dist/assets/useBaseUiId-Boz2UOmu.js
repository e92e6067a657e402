//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-BKebax1Z.js";function t(t){return e(t,`base-ui`)}export{t};