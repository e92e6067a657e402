//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-CsubV6kc.js";function t(t){return e(t,`base-ui`)}export{t};