//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-BQbB3g7I.js";function t(t){return e(t,`base-ui`)}export{t};