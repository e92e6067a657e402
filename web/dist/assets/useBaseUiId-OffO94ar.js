//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-DjNKLynH.js";function t(t){return e(t,`base-ui`)}export{t};